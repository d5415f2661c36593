// Libraries of services that most brokers do not use: installed by whoever configures one, and loaded then.

export type Loaded<Library> = { readonly library: Library } | { readonly missing: string }

/** `load`: the dynamic import. Its failure is a sentence that says what to do. */
export async function loadLibrary<Library>(name: string, load: () => Promise<Library>): Promise<Loaded<Library>> {
  try {
    return { library: await load() }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { missing: `the library ${name} cannot be loaded: install it with "npm install ${name}" (${why})` }
  }
}
