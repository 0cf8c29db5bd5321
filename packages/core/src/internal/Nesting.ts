/** How deep a JSON text goes: a parser takes any depth, what recurses over its result (writing it again, comparing it) does not. */

const mostLevels = 200

/** Whether brackets outside of strings nest deeper than anything meant to be read. Linear in the text; any text will do. */
export const isDeep = (json: string, most = mostLevels): boolean => {
  let levels = 0
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
        if (!isInString && ++levels > most) return true
        break
      case 0x5d: // ]
      case 0x7d: // }
        if (!isInString) levels--
        break
    }
  }
  return false
}
