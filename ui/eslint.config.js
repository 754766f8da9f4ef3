import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';

import svelteConfig from './svelte.config.js';

export default ts.config(
  { ignores: ['src/api/schema.d.ts'] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...ts.configs.stylistic,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'max-lines': ['error', { max: 300, skipBlankLines: true }],
      eqeqeq: 'error',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Text of traces is never HTML.' },
        { property: 'outerHTML', message: 'Text of traces is never HTML.' },
        { property: 'insertAdjacentHTML', message: 'Text of traces is never HTML.' },
      ],
      'no-restricted-globals': [
        'error',
        { name: 'localStorage', message: 'Only state/preferences keeps what outlives the tab.' },
      ],
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
    rules: {
      // The compiler's types find these, and the rule does not know TypeScript's globals.
      'no-undef': 'off',
      'max-lines': ['error', { max: 200 }],
      'svelte/no-at-html-tags': 'error',
      // Addresses are hashes of this page; there is no SvelteKit whose resolve() they could go through.
      'svelte/no-navigation-without-resolve': 'off',
    },
  },
  { files: ['*.ts', '*.js', 'build/**'], languageOptions: { globals: { ...globals.node } } },
);
