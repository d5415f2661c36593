// Whether an object of the API server has everything that was rendered, beside defaults and fields of others.

/** Lists of objects with these keys are compared by them; other lists item by item. */
const itemKeys = ['name', 'mountPath', 'containerPort', 'port', 'topologyKey', 'uid']

type Loose = Readonly<Record<string, unknown>>

/** Returns whether each field of `rendered` has the same value in `live`. */
export function isCovered(rendered: unknown, live: unknown): boolean {
  if (Array.isArray(rendered)) return Array.isArray(live) && isListCovered(rendered, live)
  if (typeof rendered !== 'object' || rendered === null) return rendered === live
  if (typeof live !== 'object' || live === null || Array.isArray(live)) return false
  return Object.entries(rendered as Loose).every(([key, value]) => isCovered(value, (live as Loose)[key]))
}

function isListCovered(rendered: readonly unknown[], live: readonly unknown[]): boolean {
  if (rendered.length !== live.length) return false
  return rendered.every((item, index) => {
    if (typeof item !== 'object' || item === null) return isCovered(item, live[index])
    const key = itemKeys.find((name) => (item as Loose)[name] !== undefined)
    if (key === undefined) return isCovered(item, live[index])
    return live.some((other) => isCovered(item, other))
  })
}
