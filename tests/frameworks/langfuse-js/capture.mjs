// The Langfuse SDK for JavaScript.

// recipe
import { observeOpenAI } from '@langfuse/openai';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { observe, propagateAttributes, startActiveObservation, updateActiveObservation } from '@langfuse/tracing';
import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK({ spanProcessors: [new LangfuseSpanProcessor()] });
sdk.start();
// end of recipe

import OpenAI from 'openai';

const client = new OpenAI({ maxRetries: 0 });
const model = 'gpt-4.1';
const question = 'What is the weather in Paris?';
const tools = ['getWeather', 'getStock'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
}));

const getWeather = observe(async ({ city }) => ({ city, weather: 'sunny' }), { name: 'getWeather', asType: 'tool' });
const getStock = observe(
  async () => {
    throw new Error('the exchange is closed');
  },
  { name: 'getStock', asType: 'tool' },
);

// Asks the model, runs the tools it asks for, and asks again.
async function answer(input) {
  const openai = observeOpenAI(client);
  const messages = [{ role: 'user', content: input }];
  const first = await openai.chat.completions.create({ model, messages, tools });
  const { message } = first.choices[0];
  messages.push(message);
  for (const { id, function: called } of message.tool_calls) {
    const run = { getWeather, getStock }[called.name];
    const result = await run(JSON.parse(called.arguments)).catch((error) => String(error));
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) });
  }
  const last = await openai.chat.completions.create({ model, messages, tools });
  return last.choices[0].message.content;
}

const cases = {
  async tool() {
    const agent = observe(answer, { name: 'weather-agent', asType: 'agent' });
    await agent(question);
  },
  async session() {
    const messages = [];
    const turn = (content) =>
      propagateAttributes({ sessionId: 'session-1', userId: 'ada', tags: ['demo'] }, () =>
        startActiveObservation(
          'chat-turn',
          async (span) => {
            messages.push({ role: 'user', content });
            span.update({ input: content });
            const reply = await observeOpenAI(client).chat.completions.create({ model, messages });
            messages.push(reply.choices[0].message);
            span.update({ output: reply.choices[0].message.content });
          },
          { asType: 'agent' },
        ),
      );
    await turn('Hello, my name is Ada.');
    await turn('What is my name?');
  },
  async stream() {
    const messages = [{ role: 'user', content: question }];
    const request = { model, messages, stream: true, stream_options: { include_usage: true } };
    const stream = await observeOpenAI(client, { generationName: 'greeting' }).chat.completions.create(request);
    for await (const _ of stream);
  },
  async 'model-error'() {
    const messages = [{ role: 'user', content: 'Hello, my name is Ada.' }];
    await observeOpenAI(client).chat.completions.create({ model, messages }).catch(() => {});
  },
  async 'tool-error'() {
    const agent = observe(answer, { name: 'stock-agent', asType: 'agent' });
    await agent('What does the stock SPAN cost?');
  },
  async agents() {
    const weather = observe(answer, { name: 'weather-agent', asType: 'agent' });
    const plan = async (input) => {
      updateActiveObservation({ metadata: { season: 'summer' } });
      const found = await startActiveObservation(
        'find-places',
        async (span) => {
          span.update({ input, output: ['beach'] });
          return ['beach'];
        },
        { asType: 'retriever' },
      );
      return `${await weather(question)} Go to the ${found[0]}.`;
    };
    await observe(plan, { name: 'planner', asType: 'chain' })('Plan a day in Paris.');
  },
};

await cases[process.argv[2]]();
await sdk.shutdown();
