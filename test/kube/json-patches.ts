// JSON Merge Patch (RFC 7396) and JSON Patch (RFC 6902).

import { KubeError } from './kube-error.ts'
import { isEqual, isObject, type JsonObject } from './kube-object.ts'

/** Returns `target` with `patch` merged into it; null deletes a field. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key], value)
  }
  return result
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/** Returns a copy of `target` after all operations; an operation that fails is error 422. */
export function applyJsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw new KubeError('BadRequest', 'a JSON patch is a list of operations')
  const root = { value: structuredClone(target) }
  for (const operation of operations as Operation[]) applyOperation(root, operation)
  return root.value
}

function applyOperation(root: { value: unknown }, { op, path, from, value }: Operation): void {
  if (op === 'test') {
    if (!isEqual(getPointer(root.value, path), value)) throw fail(op, path)
  } else if (op === 'add') addAt(root, path, value)
  else if (op === 'remove') removeAt(root, path)
  else if (op === 'replace') {
    if (path !== '') removeAt(root, path)
    addAt(root, path, value)
  } else if (op === 'copy') addAt(root, path, structuredClone(getPointer(root.value, from ?? '')))
  else if (op === 'move') {
    const moved = getPointer(root.value, from ?? '')
    removeAt(root, from ?? '')
    addAt(root, path, moved)
  } else throw new KubeError('BadRequest', `unknown operation of a JSON patch: ${op}`)
}

function fail(op: string, path: string): KubeError {
  return new KubeError('Invalid', `the server rejected our request due to an error in our request: ${op} ${path}`)
}

function parsePointer(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function getPointer(value: unknown, path: string): unknown {
  return parsePointer(path).reduce<unknown>((node, part) => {
    if (Array.isArray(node)) return (node as unknown[])[Number(part)]
    return isObject(node) ? node[part] : undefined
  }, value)
}

function addAt(root: { value: unknown }, path: string, value: unknown): void {
  const parts = parsePointer(path)
  const last = parts.pop()
  if (last === undefined) {
    root.value = value
    return
  }
  const parent = getPointer(root.value, path.slice(0, path.lastIndexOf('/')))
  if (Array.isArray(parent)) parent.splice(last === '-' ? parent.length : Number(last), 0, value)
  else if (isObject(parent)) parent[last] = value
  else throw fail('add', path)
}

function removeAt(root: { value: unknown }, path: string): void {
  const last = parsePointer(path).at(-1) ?? ''
  const parent = getPointer(root.value, path.slice(0, path.lastIndexOf('/')))
  if (Array.isArray(parent) && Number(last) < parent.length) parent.splice(Number(last), 1)
  else if (isObject(parent) && last in parent) delete parent[last]
  else throw fail('remove', path)
}
