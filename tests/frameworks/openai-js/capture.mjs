// The OpenAI SDK for JavaScript, instrumented by OpenTelemetry.

// recipe
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import module from 'node:module';

module.register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const sdk = new NodeSDK({ instrumentations: [new OpenAIInstrumentation({ captureMessageContent: true })] });
sdk.start();
const { OpenAI } = await import('openai'); // after the start
// end of recipe

const client = new OpenAI({ maxRetries: 0 });
const model = 'gpt-4.1';
const user = (content) => ({ role: 'user', content });
const question = 'What is the weather in Paris?';
const tools = [
  { type: 'function', function: { name: 'getWeather', parameters: { type: 'object', properties: {} } } },
];

const cases = {
  async tool() {
    const messages = [{ role: 'system', content: 'You know the weather.' }, user(question)];
    const first = await client.chat.completions.create({ model, messages, tools });
    const { message } = first.choices[0];
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'It is sunny.' });
    await client.chat.completions.create({ model, messages, tools });
  },
  async stream() {
    const request = { model, messages: [user(question)], stream: true, stream_options: { include_usage: true } };
    for await (const _ of await client.chat.completions.create(request));
  },
  async embed() {
    await client.embeddings.create({ model: 'text-embedding-3-small', input: ['Paris', 'Rome'] });
  },
  async 'model-error'() {
    const messages = [user('Hello, my name is Ada.')];
    await client.chat.completions.create({ model, messages }).catch(() => {});
  },
};

await cases[process.argv[2]]();
await sdk.shutdown();
