// Quantities of Kubernetes: a decimal number with a suffix. https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/

const nano = 1_000_000_000n

const suffixes: ReadonlyMap<string, bigint> = new Map([
  ['n', 1n],
  ['u', 1_000n],
  ['m', 1_000_000n],
  ['', nano],
  ['k', nano * 10n ** 3n],
  ['M', nano * 10n ** 6n],
  ['G', nano * 10n ** 9n],
  ['T', nano * 10n ** 12n],
  ['P', nano * 10n ** 15n],
  ['E', nano * 10n ** 18n],
  ['Ki', nano * 2n ** 10n],
  ['Mi', nano * 2n ** 20n],
  ['Gi', nano * 2n ** 30n],
  ['Ti', nano * 2n ** 40n],
  ['Pi', nano * 2n ** 50n],
  ['Ei', nano * 2n ** 60n],
])

/** Form of quantities for the API server. */
export const quantityPattern = '^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$'

const maxCharacters = 64
/** The exponent of a larger one would be a number of very many digits. */
const maxExponent = 18

/** Returns a quantity in units of 10^-9, rounded up; undefined: it is none. */
export function parseQuantity(quantity: string | number): bigint | undefined {
  const text = String(quantity)
  if (text.length > maxCharacters) return undefined
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE])([+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]))?$/.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', e, exponentText = '0', suffix = ''] = match
  if (whole === '' && fraction === '') return undefined
  const exponent = e === undefined ? 0 : Number(exponentText)
  if (Math.abs(exponent) > maxExponent) return undefined
  const scale = suffixes.get(suffix)
  if (scale === undefined) return undefined
  const numerator = BigInt(whole + fraction) * scale * 10n ** BigInt(Math.max(exponent, 0))
  const denominator = 10n ** BigInt(fraction.length + Math.max(-exponent, 0))
  const amount = (numerator + denominator - 1n) / denominator
  return sign === '-' ? -amount : amount
}

/** Returns a number or a percentage as its number; undefined: it is none. */
export function parseCount(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  const digits = typeof value === 'string' ? /^(\d{1,3})%$/.exec(value)?.[1] : undefined
  const percentage = Number(digits)
  return digits === undefined || percentage > 100 ? undefined : percentage
}
