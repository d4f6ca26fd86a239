// The page on which people browse the API: one HTML document with everything in it, which needs no
// other server and works without scripts; the only one it has filters the list.

import { answerFields, answerKind } from './api-docs-answers.ts';
import { type ApiEntry, type ApiGroup, apiGroups } from './api-docs-entries.ts';
import { failureRows } from './api-docs-failures.ts';
import { exampleOf } from './api-examples.ts';
import type { AnyOperation } from './operation.ts';
import { wantedText } from './wanted-text.ts';

export function openApiPage(operations: readonly AnyOperation[], version: string): string {
  const groups = apiGroups(operations.filter(({ http }) => http !== undefined));
  const links = groups.map(({ tag }) => `<a href="#${html(tag)}">${html(tag)}</a>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Management API</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>Management API <small>${html(version)}</small></h1>
<p>For programs: <a href="/api/v3/openapi.json">openapi.json</a> (OpenAPI 3.1). Calls need HTTP Basic
credentials, <code>APP=id:secret</code> of an application; on the port of the dashboard, those of a
user.</p>
<input id="filter" type="search" placeholder="Filter" aria-label="Filter operations" hidden>
<nav>${links.join(' ')}</nav>
</header>
<main>
${groups.map(groupHtml).join('\n')}
${failuresHtml()}
</main>
<script>${script}</script>
</body>
</html>
`;
}

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem .75rem; }
input { font: inherit; padding: .25rem .5rem; width: 100%; box-sizing: border-box; margin: .5rem 0; }
details { border: 1px solid #8884; border-radius: .4rem; margin: .4rem 0; padding: .3rem .7rem; }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .3rem .8rem; align-items: baseline; }
.method { font-weight: 700; min-width: 4.5rem; }
.DELETE { color: #c22; } .POST, .PUT { color: #b60; } .GET { color: #27a; }
section.group:not(:has(> details:not([hidden]))) { display: none; }
summary small { border: 1px solid #8886; border-radius: .3rem; padding: 0 .3rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
th, td { border-bottom: 1px solid #8883; padding: .15rem .5rem; text-align: left; vertical-align: top; }
pre { background: #8881; border-radius: .3rem; overflow-x: auto; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
`;

const script = `
const filter = document.getElementById('filter');
filter.hidden = false;
filter.addEventListener('input', () => {
  const wanted = filter.value.toLowerCase();
  for (const entry of document.querySelectorAll('details'))
    entry.hidden = !entry.firstElementChild.textContent.toLowerCase().includes(wanted);
});
`;

function groupHtml({ tag, entries }: ApiGroup): string {
  const shown = entries.map(entryHtml);
  return `<section class="group" id="${html(tag)}"><h2>${html(tag)}</h2>\n${shown.join('\n')}\n</section>`;
}

function entryHtml(entry: ApiEntry): string {
  const { id, http, path, descr, commands } = entry;
  const method = http?.method ?? '';
  const call = exampleOf(entry);
  const port = http?.port === 'dashboard' ? ' <small>dashboard port</small>' : '';
  const parts = [
    `<summary><span class="method ${method}">${method}</span> <code>${html(path)}</code> <span>${html(descr)}</span>${port}</summary>`,
    ...(http?.port === 'dashboard' ? ['<p>Only on the port of the dashboard.</p>'] : []),
    ...(http?.isOpen === true ? ['<p>Without credentials.</p>'] : []),
    ...paramsHtml(entry),
    ...answerHtml(entry),
    ...commands.map((command) => `<p>Command: <code>${html(command)}</code></p>`),
    `<pre>${html(call?.curl ?? '')}</pre>`,
    `<pre>${html(call?.answer ?? '')}</pre>`,
  ];
  return `<details id="${html(id)}">${parts.join('\n')}</details>`;
}

function paramsHtml({ params }: ApiEntry): string[] {
  if (params.length === 0) return [];
  const rows = params.map(({ name, in: place, schema, isRequired }) => [
    `<code>${html(name)}</code>`,
    place,
    html(wantedText(schema)),
    isRequired ? 'required' : '',
    html('description' in schema ? String(schema.description) : ''),
  ]);
  return [tableHtml(['Parameter', 'in', 'value', '', ''], rows)];
}

function answerHtml({ operation, http, isPaged }: ApiEntry): string[] {
  if (http?.produces !== undefined) return [`<p>Answer: <code>${html(http.produces)}</code></p>`];
  const { result } = operation;
  if (result === undefined) return ['<p>Answer: a code only.</p>'];
  const rows = answerFields(result).map(({ name, schema }) => [
    `<code>${html(name)}</code>`,
    html(wantedText(schema)),
    html('description' in schema ? String(schema.description) : ''),
  ]);
  const kind = `<p>Answer: ${html(answerKind(result))}${isPaged ? ', paged' : ''}.</p>`;
  return rows.length === 0 ? [kind] : [kind, tableHtml(['Field', 'value', ''], rows)];
}

function failuresHtml(): string {
  const rows = failureRows().map(({ code, status, meaning }) => [
    String(code),
    String(status),
    html(meaning),
  ]);
  const table = tableHtml(['code', 'HTTP status', 'meaning'], rows);
  return `<section id="codes"><h2>Codes of failures</h2>\n${table}\n</section>`;
}

/** Cells are HTML. */
function tableHtml(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<table>${line(heads, 'th')}${rows.map((row) => line(row, 'td')).join('')}</table>`;
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function html(text: string): string {
  return text.replaceAll(/[&<>"]/g, (letter) => escapes[letter] ?? letter);
}
