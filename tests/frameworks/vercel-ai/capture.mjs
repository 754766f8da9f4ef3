// The Vercel AI SDK 7.

// recipe
import { OpenTelemetry } from '@ai-sdk/otel';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { registerTelemetry } from 'ai';

const sdk = new NodeSDK();
sdk.start();
registerTelemetry(
  new OpenTelemetry({
    usage: true, // reasoning tokens
    embedding: true, // what is embedded
    enrichSpan: ({ runtimeContext: context }) =>
      context && { 'session.id': context.sessionId, 'user.id': context.userId },
  }),
);
// end of recipe

import { LegacyOpenTelemetry } from '@ai-sdk/otel';
import { createOpenAI } from '@ai-sdk/openai';
import { ToolLoopAgent, embed, generateObject, generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL });
const model = openai.chat('gpt-4.1');

const getWeather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, weather: 'sunny' }),
});
const getStock = tool({
  description: 'The price of a stock.',
  inputSchema: z.object({ symbol: z.string() }),
  execute: async () => {
    throw new Error('the exchange is closed');
  },
});

const asAda = { functionId: 'greeter', includeRuntimeContext: { sessionId: true, userId: true } };
const runtimeContext = { sessionId: 'session-1', userId: 'ada' };

const cases = {
  async tool() {
    await generateText({
      model,
      instructions: 'You know the weather.',
      prompt: 'What is the weather in Paris?',
      tools: { getWeather },
      stopWhen: isStepCount(5),
      telemetry: { functionId: 'weather-agent' },
    });
  },
  async session() {
    const messages = [{ role: 'user', content: 'Hello, my name is Ada.' }];
    const first = await generateText({ model, messages, runtimeContext, telemetry: asAda });
    messages.push({ role: 'assistant', content: first.text }, { role: 'user', content: 'What is my name?' });
    await generateText({ model, messages, runtimeContext, telemetry: asAda });
  },
  async stream() {
    const stream = streamText({ model, prompt: 'What is the weather in Paris?', telemetry: { functionId: 'greeter' } });
    for await (const _ of stream.textStream);
  },
  async object() {
    await generateObject({
      model,
      schema: z.object({ city: z.string(), sunny: z.boolean() }),
      prompt: 'Is it sunny in Paris?',
      telemetry: { functionId: 'weather-object' },
    });
  },
  async embed() {
    await embed({
      model: openai.embedding('text-embedding-3-small'),
      value: 'sunny day at the beach',
      telemetry: { functionId: 'embedder' },
    });
  },
  async 'model-error'() {
    const failing = { model, prompt: 'Hello, my name is Ada.', maxRetries: 0 };
    await generateText({ ...failing, telemetry: { functionId: 'greeter' } }).catch(() => {});
  },
  async 'tool-error'() {
    await generateText({
      model,
      prompt: 'What does the stock SPAN cost?',
      tools: { getStock },
      stopWhen: isStepCount(5),
      telemetry: { functionId: 'stock-agent' },
    });
  },
  async legacy() {
    const telemetry = { ...asAda, integrations: [new LegacyOpenTelemetry()] };
    await generateText({
      model,
      prompt: 'What is the weather in Paris?',
      tools: { getWeather },
      stopWhen: isStepCount(5),
      runtimeContext,
      telemetry,
    });
  },
  async agents() {
    const weather = new ToolLoopAgent({ model, tools: { getWeather }, telemetry: { functionId: 'weather-agent' } });
    const askWeather = tool({
      description: 'Asks an agent for the weather.',
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => (await weather.generate({ prompt: `What is the weather in ${city}?` })).text,
    });
    const planner = new ToolLoopAgent({ model, tools: { askWeather }, telemetry: { functionId: 'planner' } });
    await planner.generate({ prompt: 'Plan a trip by the weather in Paris.' });
  },
};

await cases[process.argv[2]]();
await sdk.shutdown();
