/** Returns a `curl` command that reads a trace. It takes the token from the environment, so it never contains one. */
export function curlCommand(url: string, needsToken: boolean): string {
  const token = needsToken ? ' -H "Authorization: Bearer $SPANWISE_TOKEN"' : '';
  return `curl -sS${token} ${quote(url)}`;
}

/** Returns a text quoted as one shell word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
