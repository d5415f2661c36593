// Loads libraries that most brokers do not need. An administrator installs one before configuring its service.

import { recordLongStacks } from './failed-library.ts'

/** `load`: the dynamic import. Rejects with a sentence that says what to do. */
export async function loadLibrary<Library>(name: string, load: () => Promise<Library>): Promise<Library> {
  recordLongStacks()
  try {
    return await load()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`the library ${name} cannot be loaded: install it with "npm install ${name}" (${why})`, {
      cause: error,
    })
  }
}
