// Quantities such as `1Gi` and `500m`.

import { toText } from './kube-object.ts'

const factors: Readonly<Record<string, number>> = {
  '': 1,
  m: 0.001,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
}

/** Returns the number that a quantity stands for; 0 if there is none. */
export function parseQuantity(value: unknown): number {
  const [, digits = '0', suffix = ''] = /^([\d.]+)([a-zA-Z]*)$/.exec(toText(value)) ?? []
  return Number(digits) * (factors[suffix] ?? Number.NaN)
}
