// Random scenarios, kills and fuzzing find more the longer they run. `npm test` and `.ci/run` run the daily length;
// `npm run test:long -- --only long-tests` runs the same test files with their long one.

/** Set by `npm run test:long`. */
export const isLong = process.env['GODWIT_LONG_TESTS'] === '1'

/** Number of seeds, rounds or messages of a test. */
export function testLength({ daily, long }: { readonly daily: number; readonly long: number }): number {
  return isLong ? long : daily
}
