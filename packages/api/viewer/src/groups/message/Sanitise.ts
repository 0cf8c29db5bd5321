/**
 * Sanitises HTML: text, structure and formulas are kept; anything that executes, loads, submits, styles or sets ids is
 * removed. This is the second of three defences: markdown passes no HTML of the author, and the page's content security
 * policy only runs its own scripts.
 */
import DOMPurify from "dompurify"

const purify = DOMPurify(window)

export const sanitise = (html: string): string =>
  purify.sanitize(html, {
    USE_PROFILES: { html: true, mathMl: true },
    ADD_TAGS: ["semantics", "annotation"],
    ADD_ATTR: ["target"],
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "dialog", "audio", "video", "map", "area"],
    FORBID_ATTR: ["style", "id", "name", "srcset", "action", "background", "autofocus", "usemap"],
    // Web, mail, embedded pictures; and values without a scheme, as in other attributes.
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i
  })
