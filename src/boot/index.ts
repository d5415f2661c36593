// Entry point of the module boot: composes a node, its API and its management server.

export type { NodeOptions, NodeStart, RunningNode } from './running-node.ts'
export { startNode } from './start-node.ts'
export { findStartProblems } from './find-start-problems.ts'
