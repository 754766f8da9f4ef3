// LangChain.js, instrumented by OpenInference.

// recipe
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbacks from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
new LangChainInstrumentation().manuallyInstrument(callbacks);
// end of recipe

import { setSession, setUser } from '@arizeai/openinference-core';
import { awaitAllCallbacks } from '@langchain/core/callbacks/promises';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatOpenAI } from '@langchain/openai';
import { context } from '@opentelemetry/api';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';

const model = new ChatOpenAI({ model: 'gpt-4.1', maxRetries: 0, streamUsage: true });
const getWeather = tool(async ({ city }) => JSON.stringify({ city, weather: 'sunny' }), {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});
const getStock = tool(
  async () => {
    throw new Error('the exchange is closed');
  },
  { name: 'get_stock', description: 'The price of a stock.', schema: z.object({ symbol: z.string() }) },
);
const weather = createAgent({ name: 'weather', model, tools: [getWeather, getStock] });
const user = (content) => ({ role: 'user', content });
const question = 'What is the weather in Paris?';

const cases = {
  async tool() {
    await weather.invoke({ messages: [user(question)] });
  },
  async session() {
    const asAda = setUser(setSession(context.active(), { sessionId: 'session-1' }), { userId: 'ada' });
    await context.with(asAda, async () => {
      const { messages } = await weather.invoke({ messages: [user('Hello, my name is Ada.')] });
      await weather.invoke({ messages: [...messages, user('What is my name?')] });
    });
  },
  async 'session-thread'() {
    const thread = { configurable: { thread_id: 'session-1' }, metadata: { user_id: 'ada' } };
    await weather.invoke({ messages: [user('Hello, my name is Ada.')] }, thread);
  },
  async stream() {
    for await (const _ of await model.stream(question));
  },
  async chain() {
    const prompt = ChatPromptTemplate.fromTemplate('What is the weather in {city}?');
    await prompt.pipe(model).pipe(new StringOutputParser()).invoke({ city: 'Paris' });
  },
  async 'model-error'() {
    await model.invoke('Hello, my name is Ada.').catch(() => {});
  },
  async 'tool-error'() {
    await weather.invoke({ messages: [user('What does the stock SPAN cost?')] }).catch(() => {});
  },
};

await cases[process.argv[2]]();
await awaitAllCallbacks();
await sdk.shutdown();
