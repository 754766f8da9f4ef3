// Genkit.

// recipe
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { enableTelemetry, flushTracing } from 'genkit/tracing';

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
// end of recipe

import { openAICompatible } from '@genkit-ai/compat-oai';
import { genkit, z } from 'genkit';

const openai = { name: 'openai', apiKey: 'any', baseURL: process.env.OPENAI_BASE_URL, maxRetries: 0 };
const ai = genkit({ plugins: [openAICompatible(openai)] });
const model = 'openai/gpt-4.1';
const getWeather = ai.defineTool(
  { name: 'getWeather', description: 'The weather of a city.', inputSchema: z.object({ city: z.string() }) },
  async ({ city }) => ({ city, weather: 'sunny' }),
);
const getStock = ai.defineTool(
  { name: 'getStock', description: 'The price of a stock.', inputSchema: z.object({ symbol: z.string() }) },
  async () => {
    throw new Error('the exchange is closed');
  },
);
const weather = ai.defineFlow({ name: 'weather', inputSchema: z.string() }, async (question) => {
  const { text } = await ai.generate({ model, system: 'You know the weather.', prompt: question, tools: [getWeather] });
  return text;
});
const question = 'What is the weather in Paris?';

const cases = {
  async tool() {
    await weather(question);
  },
  async stream() {
    const { stream, response } = ai.generateStream({ model, prompt: question });
    for await (const _ of stream);
    await response;
  },
  async 'model-error'() {
    await ai.generate({ model, prompt: 'Hello, my name is Ada.' }).catch(() => {});
  },
  async 'tool-error'() {
    await ai.generate({ model, prompt: 'What does the stock SPAN cost?', tools: [getStock] }).catch(() => {});
  },
};

await cases[process.argv[2]]();
await flushTracing();
process.exit(0);
