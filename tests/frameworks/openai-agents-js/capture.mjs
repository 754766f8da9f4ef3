// The OpenAI Agents SDK for JavaScript, instrumented by OpenInference.

// recipe
import * as agents from '@openai/agents';
import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
new OpenAIAgentsInstrumentation().manuallyInstrument(agents);
// end of recipe

import { setSession, setUser } from '@arizeai/openinference-core';
import { context } from '@opentelemetry/api';
import { z } from 'zod';

const { Agent, run, tool } = agents;
const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, weather: 'sunny' }),
});
const getStock = tool({
  name: 'get_stock',
  description: 'The price of a stock.',
  parameters: z.object({ symbol: z.string() }),
  execute: async () => {
    throw new Error('the exchange is closed');
  },
});
const weather = new Agent({
  name: 'weather',
  instructions: 'You know the weather.',
  model: 'gpt-4.1',
  tools: [getWeather, getStock],
});
const triage = new Agent({ name: 'triage', instructions: 'You pass on.', model: 'gpt-4.1', handoffs: [weather] });
const question = 'What is the weather in Paris?';

const cases = {
  async tool() {
    await run(weather, question);
  },
  async session() {
    const asAda = setUser(setSession(context.active(), { sessionId: 'session-1' }), { userId: 'ada' });
    await context.with(asAda, async () => {
      const first = await run(weather, 'Hello, my name is Ada.');
      await run(weather, [...first.history, { role: 'user', content: 'What is my name?' }]);
    });
  },
  async stream() {
    const stream = await run(weather, question, { stream: true });
    for await (const _ of stream.toTextStream());
    await stream.completed;
  },
  async 'model-error'() {
    await run(weather, 'Hello, my name is Ada.').catch(() => {});
  },
  async 'tool-error'() {
    await run(weather, 'What does the stock SPAN cost?');
  },
  async handoff() {
    await run(triage, question);
  },
};

await cases[process.argv[2]]();
await sdk.shutdown();
