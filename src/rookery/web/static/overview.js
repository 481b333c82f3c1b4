// The overview, rendered anew when one of its figures changed.

import { fragment } from "/static/fragment.js";
import { follow } from "/static/live.js";

const refresh = fragment(document.getElementById("overview"), "/fleet/now");
follow({ overview: refresh }); // the first reading too: it may be newer than the page
