// Entry point of the module operator: the operator for Kubernetes.

export { type BrokerApi, type BrokerDrain } from './broker-api.ts'
export { type OperatorOptions, type RunningOperator, startOperator } from './operator.ts'
