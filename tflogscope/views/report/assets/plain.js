"use strict";
/* Pages of tables and still pictures. */
Report.enhanceTables();
Report.theme(() => {});
document.documentElement.dataset.state = "ready";
