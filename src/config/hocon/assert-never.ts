/** The end of a `switch` that has named every case: reached only if the types lie, which is our mistake. */
export function assertNever(value: never): never {
  throw new TypeError(`no such case: ${String((value as { kind?: unknown }).kind)}`)
}
