// Rewrites every file that derives from a table in the source. `--check` changes nothing and fails
// with the names of the files that differ. A new derived file is one more entry of `derived`.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { apiDocs } from '#admin/api-docs';
import { cliCatalogue } from '#admin/console-usage';
import { installRoot } from '#base/install-root';
import { renderConf } from '#config/render-conf';
import { renderDocs } from '#config/render-docs';
import { paperCatalogueOfAll } from '#host/paper-plugins';
import { discoverPlugins } from '#plugin/discover';
import { keyTableOf } from '#plugin/load-config';
import { renderConformance } from './conformance-doc.ts';
import { renderRulesReference } from './rules-reference.ts';

interface Derived {
  /** Under the root of the project. */
  readonly file: string;
  readonly render: () => string;
}

const { files } = keyTableOf(await discoverPlugins());
const catalogue = await paperCatalogueOfAll();

const derived: readonly Derived[] = [
  ...files.map((conf) => ({ file: `etc/${conf.name}`, render: () => renderConf(conf) })),
  { file: 'docs/configuration.md', render: () => renderDocs(files) },
  { file: 'docs/conformance.md', render: renderConformance },
  { file: 'docs/rules-reference.md', render: renderRulesReference },
  { file: 'src/cli/catalogue.json', render: () => cliCatalogue(catalogue.commands()) },
  { file: 'docs/api.md', render: () => apiDocs(catalogue.all()) },
];

const isCheck = process.argv.includes('--check');
const stale = derived.filter(({ file, render }) => stored(file) !== render());

if (isCheck && stale.length > 0) {
  console.error('Derived files are out of date, run "npm run gen":');
  for (const { file } of stale) console.error(`  ${file}`);
  process.exitCode = 1;
} else if (!isCheck) {
  for (const { file, render } of stale) {
    mkdirSync(dirname(join(installRoot, file)), { recursive: true });
    writeFileSync(join(installRoot, file), render());
    console.log(`wrote ${file}`);
  }
}

function stored(file: string): string | undefined {
  try {
    return readFileSync(join(installRoot, file), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
