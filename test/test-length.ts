// Random scenarios, kills and fuzzing find more the longer they run. `npm test` and `.ci/run` run the daily length;
// `npm run test:long -- --only long-tests` runs the same test files with their long one.

import { test, type TestContext } from 'node:test'

/** Set by `npm run test:long`. */
export const isLong = process.env['GODWIT_LONG_TESTS'] === '1'

/** Shards of brokers and simulated brokers whose tests do not set a number. */
export const testShards = Number(process.env['GODWIT_TEST_SHARDS'] ?? 1)

/**
 * Numbers of shards with which a test runs: the daily run has the largest only. With several shards, clients are served by their own shard
 * and by others, so that what one shard does is tested as well.
 */
export function shardNumbers<Count extends number>(...ascending: Count[]): Count[] {
  return isLong ? ascending : ascending.slice(-1)
}

/** Versions of a protocol with which a test runs: the daily run has the newest only, where the other versions have daily tests of their own. */
export function versionsOf<Version extends number | string>(...ascending: Version[]): Version[] {
  return isLong ? ascending : ascending.slice(-1)
}

/** The daily run has the cases named here, the long run has all. */
export function casesOf<Case extends readonly unknown[]>(
  all: readonly Case[],
  ...dailyNames: readonly Case[0][]
): readonly Case[] {
  return isLong ? all : all.filter(([name]) => dailyNames.includes(name))
}

/** Of many cases that are made of the same parts, the daily run has one in `number`. */
export function oneIn<Case>(number: number, all: readonly Case[]): readonly Case[] {
  return isLong ? all : all.filter((_, index) => index % number === 0)
}

/** A test of the long run only. The comment before each names the daily test that fails for nearly the same defects. */
export function longTest(title: string, run: (t: TestContext) => Promise<void>): void {
  if (isLong) void test(title, run)
}

/** Number of seeds, rounds or messages of a test. */
export function testLength({ daily, long }: { readonly daily: number; readonly long: number }): number {
  return isLong ? long : daily
}
