// Exports one span named by the second argument with an exporter that is created without options.
package main

import (
	"context"
	"log"
	"os"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	protocol, name, ctx := os.Args[1], os.Args[2], context.Background()
	var exporter *otlptrace.Exporter
	var err error
	if protocol == "grpc" {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	_, span := provider.Tracer("test").Start(ctx, name)
	span.End()
	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
