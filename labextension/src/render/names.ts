/** Names that stand side by side: a long one loses the parts that it shares with the others. */

import { MOST_END, type Span } from "./dom.ts";
import { cutMiddle } from "./text_measure.ts";

/** Characters kept of the common beginning and the common end. */
const HEAD = 8;
const TAIL = 5;
/** A cut goes back to the beginning of a word, by at most this number of characters. */
const WORD = 12;
const MAX_ROUNDS = 8;

/** Cuts texts in their middle; texts that would look alike then are cut before they differ. */
export function cutApart(texts: readonly string[], limit: number): string[] {
  const found = texts.map((text) => cutMiddle(text, limit));
  let groups = alike(texts, found);
  // Each round cuts later than the one before, where names begin to differ.
  for (let round = 0; groups.length > 0 && round < MAX_ROUNDS; round++) {
    for (const group of groups) {
      const [begin, end] = difference(group.map((i) => texts[i]!));
      for (const i of group) found[i] = cutAround(texts[i]!, begin, end, limit);
    }
    groups = alike(texts, found);
  }
  return found;
}

/** The indices of different texts that became equal. */
function alike(texts: readonly string[], shown: readonly string[]): number[][] {
  const places = new Map<string, number[]>();
  shown.forEach((text, i) => {
    if (text !== texts[i]) places.set(text, [...(places.get(text) ?? []), i]);
  });
  return [...places.values()].filter((group) => new Set(group.map((i) => texts[i])).size > 1);
}

/** How many characters texts have in common at their beginning, and how many at their end. */
export function difference(texts: readonly string[]): [number, number] {
  const [first, ...others] = texts as [string, ...string[]];
  const shortest = Math.min(...texts.map((text) => text.length));
  let begin = 0;
  while (begin < shortest && others.every((text) => text[begin] === first[begin])) begin++;
  let end = 0;
  const last = (text: string) => text[text.length - 1 - end];
  while (end < shortest - begin && others.every((text) => last(text) === last(first))) end++;
  return [begin, end];
}

/** The start of the word at a position of a text. */
export function wordStart(text: string, place: number): number {
  for (let i = place; i > Math.max(0, place - WORD); i--) {
    if (/[/_.:-]/.test(text[i - 1]!)) return i;
  }
  return place;
}

function cutAround(text: string, begin: number, end: number, limit: number): string {
  const head = text.slice(0, HEAD);
  const start = Math.max(HEAD, wordStart(text, begin));
  const room = limit - HEAD - 1;
  if (text.length - start <= room) return `${head}…${text.slice(text.length - room)}`;
  const tail = text.slice(text.length - Math.min(TAIL, end || TAIL));
  return `${head}…${text.slice(start, start + room - tail.length - 1)}…${tail}`;
}

/** The part where names of a column differ that end alike; names with an end of their own are left out. */
export function cores(names: readonly string[]): Map<string, Span> {
  const byEnd = new Map<string, Set<string>>();
  for (const name of names) {
    if (name.length <= MOST_END) continue;
    const end = name.slice(name.length - MOST_END / 2);
    byEnd.set(end, (byEnd.get(end) ?? new Set()).add(name));
  }
  const found = new Map<string, Span>();
  let groups = [...byEnd.values()].filter((group) => group.size > 1);
  // Names with equal cores are compared again behind them.
  for (let round = 0; groups.length > 0 && round < MAX_ROUNDS; round++) {
    const next: Set<string>[] = [];
    for (const group of groups) {
      const [begin, end] = difference([...group]);
      const byCore = new Map<string, Set<string>>();
      for (const name of group) {
        const from = wordStart(name, begin);
        const slash = name.indexOf("/", Math.max(name.length - end, from + 1));
        const to = Math.min(slash < 0 ? name.length : slash, from + MOST_END);
        found.set(name, [from, to]);
        const core = name.slice(from, to);
        byCore.set(core, (byCore.get(core) ?? new Set()).add(name));
      }
      next.push(...[...byCore.values()].filter((alike) => alike.size > 1));
    }
    groups = next;
  }
  return found;
}
