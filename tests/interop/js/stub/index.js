"use strict";

// The packages replaced by this one are optional to their users, who catch the failure.
throw new Error("not part of the interop tests");
