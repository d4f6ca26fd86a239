// What finding the receivers of one topic costs, layer by layer: a Route that a connection kept, the
// router's match cache, a topic it does not know, and the filter trie by itself. A thousand exact
// filters and a thousand with wildcards; each topic matches one and two. Run: node bench/match.ts

import { readUtf8 } from '#wire/utf8';
import { FilterTrie } from '#topics/filter-trie';
import type { Router } from '#core/router';
import { bareRouter, deliveryTo, FakeSubscriber } from '#core/session-fixture';
import { report, type Work } from './repeat.ts';

const halls = 500;
/** More than the match cache holds: met in turn, each has been forgotten when it comes again. */
const strangers = 200_000;

const topics = Array.from({ length: 2 * halls }, (_, i) => `plant/${i % halls}/dev/${i}/temp`);
const wildcards = Array.from({ length: halls }, (_, hall) => [
  `plant/${hall}/#`,
  `plant/${hall}/dev/+/temp`,
]).flat();

const trie = new FilterTrie<number>();
for (const [i, filter] of wildcards.entries()) trie.set(filter, i + 1);

report('receivers of a topic', [
  keptRoute(),
  lookingUp('router, cached topic', topics),
  lookingUp(
    'router, unknown topic, two wildcard filters match',
    Array.from({ length: strangers }, (_, i) => `plant/${i % halls}/dev/x${i}/temp`),
  ),
  lookingUp(
    'router, unknown topic, nothing matches',
    Array.from({ length: strangers }, (_, i) => `other/${i % halls}/dev/x${i}/temp`),
  ),
  walking('filter trie, two match', topics),
  walking(
    'filter trie, nothing matches',
    topics.map((topic) => `other/${topic}`),
  ),
]);

/** One for each piece of work: topics that are unknown to one must not drive out those of another. */
function filledRouter(): Router {
  const router = bareRouter();
  for (const [i, filter] of [...topics, ...wildcards].entries()) {
    void router.filters.add(filter, undefined, deliveryTo(new FakeSubscriber(`c${i}`)));
  }
  return router;
}

function keptRoute(): Work {
  const router = filledRouter();
  const routes = topics.map((topic) => router.routeTo(topic));
  return {
    name: 'router, kept Route',
    run(times) {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const route = routes[i % routes.length]!; // the index is below their number
        sum += router.refresh(route).deliveries.length;
      }
      return sum;
    },
  };
}

function lookingUp(name: string, names: readonly string[]): Work {
  const router = filledRouter();
  const bytes = names.map((topic) => Buffer.from(topic));
  // Once round: the cache is full of them, or as full as they make it, before anything is measured.
  for (const topic of bytes) router.routeOf(topic, 0, topic.length, readUtf8);
  let next = 0;
  return {
    name,
    run(times) {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        const topic = bytes[next]!; // `next` stays below their number
        next = next + 1 === bytes.length ? 0 : next + 1;
        sum += router.routeOf(topic, 0, topic.length, readUtf8).deliveries.length;
      }
      return sum;
    },
  };
}

function walking(name: string, names: readonly string[]): Work {
  return {
    name,
    run(times) {
      let sum = 0;
      for (let i = 0; i < times; i++) {
        trie.match(names[i % names.length]!, (value) => {
          sum += value;
        });
      }
      return sum;
    },
  };
}
