// The Vercel AI SDK 6.

// recipe
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();

// Give this to every call of the AI SDK as `experimental_telemetry`.
const telemetry = (functionId, metadata) => ({ isEnabled: true, functionId, metadata });
// end of recipe

import { createOpenAI } from '@ai-sdk/openai';
import { embedMany, generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
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

const cases = {
  async tool() {
    await generateText({
      model,
      system: 'You know the weather.',
      prompt: 'What is the weather in Paris?',
      tools: { getWeather },
      stopWhen: stepCountIs(5),
      experimental_telemetry: telemetry('weather-agent'),
    });
  },
  async session() {
    const experimental_telemetry = telemetry('greeter', { sessionId: 'session-1', userId: 'ada' });
    const messages = [{ role: 'user', content: 'Hello, my name is Ada.' }];
    const first = await generateText({ model, messages, experimental_telemetry });
    messages.push({ role: 'assistant', content: first.text }, { role: 'user', content: 'What is my name?' });
    await generateText({ model, messages, experimental_telemetry });
  },
  async stream() {
    const prompt = 'What is the weather in Paris?';
    const stream = streamText({ model, prompt, experimental_telemetry: telemetry('greeter') });
    for await (const _ of stream.textStream);
  },
  async object() {
    await generateObject({
      model,
      schema: z.object({ city: z.string(), sunny: z.boolean() }),
      prompt: 'Is it sunny in Paris?',
      experimental_telemetry: telemetry('weather-object'),
    });
  },
  async embed() {
    await embedMany({
      model: openai.embedding('text-embedding-3-small'),
      values: ['sunny day at the beach', 'rainy day in the city'],
      experimental_telemetry: telemetry('embedder'),
    });
  },
  async 'model-error'() {
    const failing = { model, prompt: 'Hello, my name is Ada.', maxRetries: 0 };
    await generateText({ ...failing, experimental_telemetry: telemetry('greeter') }).catch(() => {});
  },
  async 'tool-error'() {
    await generateText({
      model,
      prompt: 'What does the stock SPAN cost?',
      tools: { getStock },
      stopWhen: stepCountIs(5),
      experimental_telemetry: telemetry('stock-agent'),
    });
  },
};

await cases[process.argv[2]]();
await sdk.shutdown();
