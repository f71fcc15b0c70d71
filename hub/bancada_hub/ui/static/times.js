// On every page: instants in the reader's own time, also in what comes later.

// The reader's own clock, with the day when it is another.
function clockTime(moment) {
  const day = moment.toDateString() === new Date().toDateString() ? {} : { dateStyle: "medium" };
  return new Intl.DateTimeFormat(document.documentElement.lang, { ...day, timeStyle: "short" }).format(moment);
}

function exactTimes(root) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: "medium",
    timeStyle: "long",
  });
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.getTime())) {
      time.title = format.format(moment);
      if ("clock" in time.dataset) {
        time.textContent = clockTime(moment);
      }
    }
  }
}

exactTimes(document);
new MutationObserver((records) => {
  for (const added of records.flatMap((record) => [...record.addedNodes])) {
    if (added instanceof Element && added.tagName !== "TIME") {
      exactTimes(added);
    }
  }
}).observe(document.body, { childList: true, subtree: true });
