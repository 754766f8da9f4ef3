/** The description of the service. */
import { client, expectData, type Schema } from './client';

export type Info = Schema['Info'];
export type Capability = Info['capabilities'][number];
export type Config = Schema['Config'];
export type SettingValue = Schema['SettingValue'];

/** Returns the name of the service and how to sign in. Needs no token. */
export function fetchInfo(): Promise<Info> {
  return expectData(client.GET('/info'));
}

/** Returns the trace stores and the hosted components. */
export function fetchConfig(): Promise<Config> {
  return expectData(client.GET('/config'));
}

/** Returns the settings in effect, without secrets. */
export function fetchSettings(): Promise<SettingValue[]> {
  return expectData(client.GET('/settings'));
}
