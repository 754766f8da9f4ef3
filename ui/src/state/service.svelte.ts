/** The service of the page: its name and its trace stores. */
import { isAbort } from '../api/error';
import { fetchConfig, fetchInfo, type Capability, type Config, type Info } from '../api/service';
import { signIn } from './sign-in.svelte';

class Service {
  info = $state.raw<Info | null>(null);
  config = $state.raw<Config | null>(null);
  /** Why the service could not be reached, or null. */
  problem = $state.raw<unknown>(null);

  /** The ids of the trace stores; the first is the default. Empty if the user may not read the configuration. */
  get stores(): string[] {
    return this.config?.traces?.dbs.map((store) => store.db_id) ?? [];
  }

  /** Returns true if the service has a capability; undefined means a basic one. */
  serves(capability: Capability | undefined): boolean {
    return capability === undefined || (this.info?.capabilities.includes(capability) ?? true);
  }

  /** Requests the name of the service and whether it requires a token. */
  async meet(): Promise<void> {
    try {
      this.info = await fetchInfo();
      this.problem = null;
      const isSignedInByProxy = signIn.token === null && this.info.authenticated;
      signIn.required = this.info.auth_mode !== 'none' && !isSignedInByProxy;
    } catch (error) {
      this.problem = error;
    }
  }

  /** Reads the configuration. A user without the scope for it works with the default store. */
  async readConfig(): Promise<void> {
    try {
      this.config = await fetchConfig();
    } catch (error) {
      if (!isAbort(error)) this.config = null;
    }
  }
}

export const service = new Service();
