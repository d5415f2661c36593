// Preloaded into the program by a test: a mistake on the main thread, made when the test asks for it.

import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  process.on('SIGUSR2', () => {
    throw new Error('thrown on purpose')
  })
  process.on('SIGWINCH', () => {
    void Promise.reject(new Error('rejected on purpose'))
  })
}
