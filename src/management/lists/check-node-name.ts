import { type ApiError, refuse } from '../http/api-error.ts'

/** Undefined: the path names this node. */
export function checkNodeName(own: { readonly nodeName: string }, node: string): ApiError | undefined {
  if (node === own.nodeName) return undefined
  return refuse('invalidParameter', `there is no node ${JSON.stringify(node)}: this one is ${own.nodeName}`, 404)
}
