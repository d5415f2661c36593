// Entry point of the module boot: composes a node, its API and its management server.

export { type NodeOptions, type NodeStart, type RunningNode, startNode } from './start-node.ts'
export { startProblems } from './start-problems.ts'
