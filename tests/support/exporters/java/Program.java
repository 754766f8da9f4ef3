import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk;

/** Exports one span named by the second argument with the SDK that the environment configures. */
public final class Program {
  public static void main(String[] arguments) {
    System.setProperty("otel.exporter.otlp.protocol", arguments[0]);
    OpenTelemetrySdk sdk = AutoConfiguredOpenTelemetrySdk.initialize().getOpenTelemetrySdk();
    sdk.getTracer("test").spanBuilder(arguments[1]).startSpan().end();
    sdk.close();
  }
}
