// Exports one span named by the second argument with an exporter that is created without options.
const { BatchSpanProcessor, NodeTracerProvider } = require("@opentelemetry/sdk-trace-node");

const [protocol, name] = process.argv.slice(2);
const packages = { grpc: "grpc", "http/protobuf": "proto", "http/json": "http" };
const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${packages[protocol]}`);
const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.getTracer("test").startSpan(name).end();
provider.shutdown();
