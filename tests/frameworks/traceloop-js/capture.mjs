// Traceloop's SDK (OpenLLMetry) for Node.

// recipe
import * as traceloop from '@traceloop/node-server-sdk';
import OpenAI from 'openai';

traceloop.initialize({ appName: 'my-service', instrumentModules: { openAI: OpenAI } });
// end of recipe

const client = new OpenAI({ maxRetries: 0 });
const model = 'gpt-4.1';
const question = 'What is the weather in Paris?';
const tools = ['getWeather', 'getStock'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
}));

const run = {
  getWeather: async ({ city }) => ({ city, weather: 'sunny' }),
  getStock: async () => {
    throw new Error('the exchange is closed');
  },
};

// Asks the model, runs the tools it asks for, and asks again.
async function answer(input) {
  const messages = [{ role: 'user', content: input }];
  const first = await client.chat.completions.create({ model, messages, tools });
  const { message } = first.choices[0];
  messages.push(message);
  for (const { id, function: called } of message.tool_calls) {
    const callTool = (args) => traceloop.withTool({ name: called.name }, run[called.name], args);
    const result = await callTool(JSON.parse(called.arguments)).catch((error) => ({ error: String(error) }));
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) });
  }
  const last = await client.chat.completions.create({ model, messages, tools });
  return last.choices[0].message.content;
}

const cases = {
  async tool() {
    await traceloop.withAgent({ name: 'weather' }, answer, question);
  },
  async session() {
    const properties = { session_id: 'session-1', user_id: 'ada' };
    const turn = (messages) =>
      traceloop.withAssociationProperties(properties, () =>
        traceloop.withWorkflow({ name: 'chat' }, async () => {
          const reply = await client.chat.completions.create({ model, messages });
          return reply.choices[0].message;
        }),
      );
    const messages = [{ role: 'user', content: 'Hello, my name is Ada.' }];
    messages.push(await turn(messages), { role: 'user', content: 'What is my name?' });
    await turn(messages);
  },
  async stream() {
    const messages = [{ role: 'user', content: question }];
    const request = { model, messages, stream: true, stream_options: { include_usage: true } };
    for await (const _ of await client.chat.completions.create(request));
  },
  async 'tool-error'() {
    await traceloop.withAgent({ name: 'stock' }, answer, 'What does the stock SPAN cost?');
  },
  async agents() {
    const plan = async (input) => {
      const place = await traceloop.withTask({ name: 'find_place' }, async () => 'beach');
      return `${await traceloop.withAgent({ name: 'weather' }, answer, question)} Go to the ${place}.`;
    };
    await traceloop.withWorkflow({ name: 'planner' }, plan, 'Plan a day in Paris.');
  },
};

await cases[process.argv[2]]();
await traceloop.forceFlush();
