/** Ends a `switch` over all cases: reached only after an internal error. */
export function assertNever(value: never): never {
  throw new TypeError(`no such case: ${String((value as { kind?: unknown }).kind)}`)
}
