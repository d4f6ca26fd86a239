// GET /metrics, for Prometheus.

import { Readable } from 'node:stream';
import { define, type AnyOperation } from '../operation.ts';
import { noParams } from '../paging.ts';
import { type PrometheusParts, prometheusFamilies } from '../prometheus.ts';
import { type Histogram, prometheusMediaType, prometheusText } from '../prometheus-text.ts';

export function prometheusOperations(parts: PrometheusParts): AnyOperation[] {
  return [
    define({
      name: 'prometheus_metrics',
      descr: 'Metrics, stats and the state of the node in the text format of Prometheus',
      tag: 'Metrics',
      http: { method: 'GET', path: '/metrics', root: true, produces: prometheusMediaType },
      params: noParams,
      run: async () => {
        const text = prometheusText(await prometheusFamilies(parts), histogramsOf(parts));
        return Readable.from([text]);
      },
    }),
  ];
}

function histogramsOf({ node }: PrometheusParts): Histogram[] {
  return node.histograms().map(({ name, help, bounds, counts, sum }) => {
    return { name: `broker_${name}`, help, buckets: bounds, counts, sum };
  });
}
