// Mastra.

// recipe
import { Mastra } from '@mastra/core/mastra';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';

const endpoint = `${process.env.OTLP_URL}/v1/traces`;
const exporter = new OtelExporter({ provider: { custom: { endpoint, protocol: 'http/protobuf' } } });
const observability = new Observability({ configs: { otel: { serviceName: 'my-service', exporters: [exporter] } } });
// Give `observability` to `new Mastra({ agents, workflows, observability })`.
// end of recipe

import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { createOpenAI } from '@ai-sdk/openai';
import { z } from 'zod';

const model = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat('gpt-4.1');
const city = z.object({ city: z.string() });
const getWeather = createTool({
  id: 'getWeather',
  description: 'The weather of a city.',
  inputSchema: city,
  execute: async ({ city }) => ({ city, weather: 'sunny' }),
});
const getStock = createTool({
  id: 'getStock',
  description: 'The price of a stock.',
  inputSchema: z.object({ symbol: z.string() }),
  execute: async () => {
    throw new Error('the exchange is closed');
  },
});
const weatherAgent = new Agent({
  id: 'weather-agent',
  name: 'Weather Agent',
  instructions: 'You know the weather.',
  model,
  tools: { getWeather, getStock },
  maxRetries: 0,
});
const planner = new Agent({
  id: 'planner',
  name: 'Planner',
  description: 'Plans trips.',
  instructions: 'You plan trips.',
  model,
  agents: { weatherAgent },
});
const ask = createStep({
  id: 'ask',
  inputSchema: city,
  outputSchema: z.object({ answer: z.string() }),
  execute: async ({ inputData, mastra, tracingContext }) => {
    const question = `What is the weather in ${inputData.city}?`;
    const reply = await mastra.getAgent('weatherAgent').generate(question, { tracingContext });
    return { answer: reply.text };
  },
});
const trip = createWorkflow({ id: 'trip', inputSchema: city, outputSchema: z.object({ answer: z.string() }) })
  .then(ask)
  .commit();

const mastra = new Mastra({
  agents: { weatherAgent, planner },
  workflows: { trip },
  observability,
  logger: false,
});
const weather = mastra.getAgent('weatherAgent');
const question = 'What is the weather in Paris?';

const cases = {
  async tool() {
    await weather.generate(question);
  },
  async session() {
    const tracingOptions = { metadata: { sessionId: 'session-1', userId: 'ada' } };
    const messages = [{ role: 'user', content: 'Hello, my name is Ada.' }];
    const first = await weather.generate(messages, { tracingOptions });
    messages.push({ role: 'assistant', content: first.text }, { role: 'user', content: 'What is my name?' });
    await weather.generate(messages, { tracingOptions });
  },
  async stream() {
    const stream = await weather.stream(question);
    for await (const _ of stream.textStream);
  },
  async 'model-error'() {
    await weather.generate('Hello, my name is Ada.').catch(() => {});
  },
  async 'tool-error'() {
    await weather.generate('What does the stock SPAN cost?');
  },
  async agents() {
    await mastra.getAgent('planner').generate('Plan a trip by the weather in Paris.');
  },
  async workflow() {
    const run = await mastra.getWorkflow('trip').createRun();
    await run.start({ inputData: { city: 'Paris' } });
  },
};

await cases[process.argv[2]]();
await observability.shutdown();
