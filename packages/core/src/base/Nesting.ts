/**
 * How deep a JSON text goes and how much it opens: a parser takes any depth, what recurses over its result (writing it
 * again, comparing it) does not; and an empty list of two characters takes a hundred bytes and a microsecond once it is
 * parsed.
 */

const mostLevels = 200

/**
 * Whether brackets outside of strings nest deeper than anything meant to be read. Linear in the text; any text will do.
 */
export const isDeep = (json: string, most = mostLevels): boolean => exceeds(json, { levels: most })

/** Whether a text has more levels, or more lists and maps in all, than these. Linear in the text; any text will do. */
export const exceeds = (json: string, most: { readonly levels?: number; readonly opened?: number }): boolean => {
  const { levels: mostDeep = mostLevels, opened: mostOpened = Number.POSITIVE_INFINITY } = most
  let levels = 0
  let opened = 0
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case 0x22: // "
        isInString = !isInString
        break
      case 0x5c: // what a backslash escapes
        if (isInString) at++
        break
      case 0x5b: // [
      case 0x7b: // {
        if (!isInString && (++levels > mostDeep || ++opened > mostOpened)) return true
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (!isInString) levels--
        break
    }
  }
  return false
}
