/** The hosted components: agents, teams, workflows and their factories. */
import { client, expectData } from './client';

export const KINDS = ['agents', 'teams', 'workflows'] as const;
/** The kind of a component, as in URL paths. */
export type Kind = (typeof KINDS)[number];

/** A hosted component; a factory also has the JSON Schema of its input. */
export interface Hosted {
  id: string;
  name: string;
  description?: string;
  is_factory: boolean;
  input_schema?: JsonSchema;
}

export type JsonSchema = Record<string, unknown>;

/** Returns the hosted components of a kind that the user may see. */
export async function fetchHosted(kind: Kind, signal: AbortSignal): Promise<Hosted[]> {
  return (await expectData(client.GET(`/${kind}`, { signal }))) as unknown as Hosted[];
}
