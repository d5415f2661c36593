/** A package is not a plugin that this broker can run. The message is a sentence that names the file or field and the remedy. */
export class BadPlugin extends Error {
  override readonly name = 'BadPlugin'
}
