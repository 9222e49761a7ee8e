#!/usr/bin/env bash
# Runs curtsy on this machine as three processes in the background, each with a log file:
#
#   worker      fetches pages               logs/worker.log     also logs/celery-worker.log
#   scheduler   starts scheduled jobs       logs/scheduler.log  also logs/celery-beat.log
#   api         serves the API and /docs    logs/api.log        also logs/flower.log
#
# A service answers to both names. Settings come from the environment, .env and curtsy.toml in the
# folder of the project. For machines that start services by themselves use contrib/systemd.
set -euo pipefail

cd "$(dirname "$0")/.."
readonly SERVICES=(api scheduler worker)
readonly LOGS=logs RUN=run
readonly START_TENTHS=300     # how long a start may take, in tenths of a second
readonly STOP_TENTHS=1000     # a worker lets open requests finish: a minute, and some more
readonly NOT_RUNNING=3        # as init scripts say it

usage() {
    cat <<USAGE
Usage: scripts/start_scheduler.sh start|stop|restart|status [NAME...]
       scripts/start_scheduler.sh logs NAME [-f]

NAME is worker (or celery-worker), scheduler (celery-beat) or api (flower); without one: all three.
status ends with exit code 0 if they run and $NOT_RUNNING if one does not.
USAGE
}

fail() {
    echo "start_scheduler.sh: $*" >&2
    exit 1
}

# The service of a name, by our names and by those of the programs that it replaces.
service_of() {
    case "$1" in
        worker | celery-worker) echo worker ;;
        scheduler | celery-beat) echo scheduler ;;
        api | flower) echo api ;;
        *) fail "There is no service '$1': it is worker, scheduler or api." ;;
    esac
}

second_name() {
    case "$1" in
        worker) echo celery-worker ;;
        scheduler) echo celery-beat ;;
        api) echo flower ;;
    esac
}

find_program() {
    if [ -x .venv/bin/curtsy ]; then
        echo "$PWD/.venv/bin/curtsy"
    elif ! command -v curtsy; then
        fail "curtsy is not installed here: run \`make install\`, which needs only Python and make."
    fi
}

# The moment at which a process began: another process with the same number began at another one.
began() {
    if [ -r "/proc/$1/stat" ]; then
        local fields
        fields=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
        # After the name, which may contain anything, the start is the twentieth field.
        echo "${fields##*) }" | cut -d ' ' -f 20
    else
        ps -o lstart= -p "$1" 2>/dev/null
    fi
}

# Prints the number of the process of a service; fails if it does not run.
process_of() {
    local number since
    { read -r number && read -r since; } 2>/dev/null <"$RUN/$1.pid" || return 1
    kill -0 "$number" 2>/dev/null || return 1
    [ "$(began "$number")" = "$since" ] || return 1
    case "$(ps -o stat= -p "$number" 2>/dev/null)" in
        Z*) return 1 ;; # it has ended, and waits for its parent
    esac
    echo "$number"
}

# Only one start, stop or restart works at a time. The processes do not inherit descriptor 9.
lock() {
    mkdir -p "$RUN" "$LOGS"
    command -v flock >/dev/null || return 0
    exec 9>"$RUN/lock"
    flock -w 120 9 || fail "Another start or stop has been running for two minutes."
}

launch() {
    local program=$1 service=$2 launcher=nohup number
    ! command -v setsid >/dev/null || launcher=setsid
    ln -sfn "$service.log" "$LOGS/$(second_name "$service").log"
    CURTSY_LOG_FILE="$LOGS/$service.log" $launcher "$program" "$service" \
        </dev/null >"$LOGS/$service.err" 2>&1 9>&- &
    number=$!
    printf '%s\n%s\n' "$number" "$(began "$number")" >"$RUN/$service.pid"
}

# Waits until the log says that the service has started. A level above INFO hides that line; then
# the service counts as started if it still runs in the end.
wait_until_started() {
    local service=$1 length=$2 tenth=0
    while process_of "$service" >/dev/null; do
        if tail -c "+$((length + 1))" "$LOGS/$service.log" 2>/dev/null |
            grep "${service}_started" >/dev/null || [ "$tenth" -ge "$START_TENTHS" ]; then
            echo "$service runs (process $(process_of "$service")); its log is $LOGS/$service.log"
            return 0
        fi
        sleep 0.1
        tenth=$((tenth + 1))
    done
    echo "$service did not start:" >&2
    tail -n 20 "$LOGS/$service.err" >&2
    rm -f "$RUN/$service.pid"
    return 1
}

start() {
    local program service number length one failed=0 missing="" launched=""
    for service in "$@"; do
        if number=$(process_of "$service"); then
            echo "$service runs already (process $number)"
        else
            missing="$missing $service"
        fi
    done
    [ -n "$missing" ] || return 0
    program=$(find_program)
    umask 077
    # Safe at any time: it does nothing if the database is current.
    "$program" db upgrade
    for service in $missing; do
        length=0
        [ ! -f "$LOGS/$service.log" ] || length=$(wc -c <"$LOGS/$service.log")
        launch "$program" "$service"
        launched="$launched $service:$((length))"
    done
    for one in $launched; do
        wait_until_started "${one%:*}" "${one#*:}" || failed=1
    done
    return "$failed"
}

stop() {
    local service number tenth=0 stopping=""
    for service in "$@"; do
        if number=$(process_of "$service"); then
            kill -TERM "$number" 2>/dev/null || true
            stopping="$stopping $service"
        else
            echo "$service does not run"
            rm -f "$RUN/$service.pid"
        fi
    done
    for service in $stopping; do
        while number=$(process_of "$service"); do
            if [ "$tenth" -ge "$STOP_TENTHS" ]; then
                fail "$service (process $number) has not ended yet. Stop it again: that ends it at once."
            fi
            sleep 0.1
            tenth=$((tenth + 1))
        done
        rm -f "$RUN/$service.pid"
        echo "$service has stopped"
    done
}

status() {
    local service number result=0
    for service in "$@"; do
        if number=$(process_of "$service"); then
            echo "$service ($(second_name "$service")) runs (process $number)"
        else
            echo "$service ($(second_name "$service")) does not run"
            result=$NOT_RUNNING
        fi
    done
    return "$result"
}

show_log() {
    [ $# -ge 1 ] || fail "logs needs a NAME: worker, scheduler or api."
    local service
    service=$(service_of "$1")
    [ -e "$LOGS/$service.log" ] || fail "There is no $LOGS/$service.log: $service was never started."
    case "${2:-}" in
        "") tail -n 100 "$LOGS/$service.log" ;;
        # By name, since logrotate replaces the file.
        -f | --follow) exec tail -n 100 -F "$LOGS/$service.log" ;;
        *) fail "logs knows only -f, not '$2'." ;;
    esac
    # What the process said beside its log: the sentence of a failed start, a traceback.
    [ ! -s "$LOGS/$service.err" ] || cat "$LOGS/$service.err" >&2
}

chosen() {
    local name
    [ $# -gt 0 ] || printf '%s\n' "${SERVICES[@]}"
    for name in "$@"; do
        service_of "$name"
    done
}

action=${1:-}
[ $# -eq 0 ] || shift
case "$action" in
    start | stop | restart | status)
        services=$(chosen "$@" | sort -u) # a second signal would end a service at once
        [ "$action" = status ] || lock
        # The names are words of our own, so they may be split.
        # shellcheck disable=SC2086
        case "$action" in
            restart) stop $services && start $services ;;
            *) "$action" $services ;;
        esac
        ;;
    logs) show_log "$@" ;;
    -h | --help | help) usage ;;
    *)
        usage >&2
        exit 2
        ;;
esac
