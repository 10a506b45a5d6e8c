{{- define "neve.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "neve.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "neve.labels" -}}
{{ include "neve.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "neve.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "neve.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "neve.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{/* The master of a Spark cluster, or nothing where every worker is its own Spark. */}}
{{- define "neve.cluster" -}}
{{- $master := toString (dig "spark" "master" "local" .Values.config) -}}
{{- if not (hasPrefix "local" $master) }}{{ $master }}{{ end -}}
{{- end -}}

{{/* Whether executors are pods, which the worker asks Kubernetes for. */}}
{{- define "neve.makesPods" -}}
{{- if hasPrefix "k8s://" (include "neve.cluster" .) }}true{{ end -}}
{{- end -}}

{{/* neve.yaml. Executors call back the worker's pod, whose name no DNS knows: by its address. */}}
{{- define "neve.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if include "neve.cluster" . -}}
{{- $conf := dict "spark.driver.host" "${POD_IP}" "spark.driver.bindAddress" "0.0.0.0" -}}
{{- if include "neve.makesPods" . -}}
{{- $_ := set $conf "spark.kubernetes.namespace" .Release.Namespace -}}
{{- $_ := set $conf "spark.kubernetes.driver.pod.name" "${POD_NAME}" -}}
{{- end -}}
{{- $_ := set $config.spark "conf" (merge (default dict $config.spark.conf) $conf) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* A deployment of one role. It takes root, role, settings, arguments and graceSeconds. */}}
{{- define "neve.deployment" -}}
{{- $root := .root -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "neve.fullname" $root }}-{{ .role }}
  labels:
    {{- include "neve.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  replicas: {{ .settings.replicas }}
  selector:
    matchLabels:
      {{- include "neve.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .role }}
  template:
    metadata:
      labels:
        {{- include "neve.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
      annotations:
        checksum/config: {{ include "neve.config" $root | sha256sum }}
    spec:
      serviceAccountName: {{ include "neve.serviceAccount" $root }}
      automountServiceAccountToken: {{ and (eq .role "worker") (include "neve.makesPods" $root | not | not) }}
      terminationGracePeriodSeconds: {{ add .graceSeconds 30 }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: {type: RuntimeDefault}
      containers:
        - name: neve
          image: {{ include "neve.image" $root | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args:
            {{- toYaml .arguments | nindent 12 }}
          ports:
            - {name: http, containerPort: {{ $root.Values.config.server.port }}}
          env:
            - {name: NEVE_CONFIG, value: /etc/neve/neve.yaml}
            - name: NEVE_STATE__URL
              valueFrom:
                secretKeyRef: {{ toYaml $root.Values.secrets.stateUrl | nindent 18 }}
            - name: NEVE_AUDIT_KEY
              valueFrom:
                secretKeyRef: {{ toYaml $root.Values.secrets.auditKey | nindent 18 }}
            {{- if include "neve.cluster" $root }}
            - name: POD_IP
              valueFrom: {fieldRef: {fieldPath: status.podIP}}
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            {{- end }}
            {{- with $root.Values.env }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $root.Values.secrets.environment }}
          envFrom:
            {{- range . }}
            - secretRef: {name: {{ . }}}
            {{- end }}
          {{- end }}
          startupProbe:
            httpGet: {path: /health, port: http}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /health, port: http}
            periodSeconds: 10
            timeoutSeconds: 3
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: "/ready?role=api", port: http}
            periodSeconds: 10
            timeoutSeconds: 5
          resources:
            {{- toYaml .settings.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: config, mountPath: /etc/neve, readOnly: true}
            - {name: scratch, mountPath: /tmp}
            - {name: work, mountPath: /var/lib/neve}
      volumes:
        - name: config
          configMap: {name: {{ include "neve.fullname" $root }}}
        - name: scratch
          emptyDir: {sizeLimit: {{ default "1Gi" .settings.scratchSize }}}
        - name: work
          emptyDir: {sizeLimit: 1Gi}
      {{- with .settings.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .settings.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .settings.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
