// `npm run kube-api -- PORT`: the API server alone, with pods that are ready at once.

import { startInstantKubelet } from './instant-kubelet.ts'
import { startKubeApi } from './kube-api.ts'

const api = await startKubeApi({ port: Number(process.argv[2] ?? 8_001) })
startInstantKubelet(api.operations)
console.log(`API server: ${api.url}`)
