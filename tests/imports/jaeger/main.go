package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/jaegertracing/jaeger/model"
	jsonmodel "github.com/jaegertracing/jaeger/model/converter/json"
	uimodel "github.com/jaegertracing/jaeger/model/json"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/translator/jaeger"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func main() {
	raw, _ := os.ReadFile(os.Args[1])
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(raw)
	if err != nil {
		panic(err)
	}
	byTrace := map[model.TraceID]*model.Trace{}
	var order []model.TraceID
	batches, err := jaeger.ProtoFromTraces(traces)
	if err != nil {
		panic(err)
	}
	for _, batch := range batches {
		for _, span := range batch.Spans {
			if span.Process == nil {
				span.Process = batch.Process
			}
			trace, ok := byTrace[span.TraceID]
			if !ok {
				trace = &model.Trace{}
				byTrace[span.TraceID] = trace
				order = append(order, span.TraceID)
			}
			trace.Spans = append(trace.Spans, span)
		}
	}
	data := []*uimodel.Trace{}
	for _, id := range order {
		data = append(data, jsonmodel.FromDomain(byTrace[id]))
	}
	out, _ := json.MarshalIndent(map[string]any{"data": data, "total": 0, "limit": 0, "offset": 0, "errors": nil}, "", "  ")
	fmt.Println(string(out))
}
