/** Returns the command that reads a trace. The token is that of the environment: no token is ever written down. */
export function curlCommand(url: string, needsToken: boolean): string {
  const token = needsToken ? ' -H "Authorization: Bearer $SPANWISE_TOKEN"' : '';
  return `curl -sS${token} ${quote(url)}`;
}

/** Returns a text as one word of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
