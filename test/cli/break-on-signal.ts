// Preloaded into the program by a test: throws an error on the main thread when the test sends a signal.

import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  process.on('SIGUSR2', () => {
    throw new Error('thrown on purpose')
  })
  process.on('SIGWINCH', () => {
    void Promise.reject(new Error('rejected on purpose'))
  })
}
