/** The formats of a span's texts. */
export const FORMATS = ['raw', 'json', 'markdown'] as const;
export type Format = (typeof FORMATS)[number];

export const FORMAT_LABELS: Record<Format, string> = { raw: 'Text', json: 'JSON', markdown: 'Markdown' };

export function readFormat(text: string | null): Format {
  return FORMATS.find((format) => format === text) ?? 'raw';
}
