/** What the service hosts: agents, teams and workflows, and factories of them. */
import { client, expectData } from './client';

export const KINDS = ['agents', 'teams', 'workflows'] as const;
/** The kind of a component, as in paths. */
export type Kind = (typeof KINDS)[number];

/** A hosted component; of a factory also the JSON Schema of its input. */
export interface Hosted {
  id: string;
  name: string;
  description?: string;
  is_factory: boolean;
  input_schema?: JsonSchema;
}

export type JsonSchema = Record<string, unknown>;

/** Returns what is hosted of a kind and may be seen. */
export async function fetchHosted(kind: Kind, signal: AbortSignal): Promise<Hosted[]> {
  return (await expectData(client.GET(`/${kind}`, { signal }))) as unknown as Hosted[];
}
